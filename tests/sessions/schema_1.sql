PRAGMA journal_mode = WAL;
CREATE TABLE sessions (
    session TEXT NOT NULL PRIMARY KEY,
    workspace TEXT NOT NULL,
    agent TEXT NOT NULL,
    title TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    added INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    closed INTEGER NOT NULL
);
CREATE TABLE events (
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    v INTEGER NOT NULL,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (session, seq)
);
CREATE TABLE turns (
    session TEXT NOT NULL,
    turn INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (session, turn)
) WITHOUT ROWID;
CREATE TABLE open_intents (
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    call TEXT NOT NULL,
    PRIMARY KEY (session, seq)
) WITHOUT ROWID;
INSERT INTO sessions VALUES ('20260101-120000-abcdef', '/home/ada/engine', 'builtin', 'Notes', 1767268800000, 1767268800003, 3, 1, 0, 0, 0);
INSERT INTO events VALUES ('20260101-120000-abcdef', 1, 1, 1767268800000, 'session/started', '{"workspace":"/home/ada/engine","agent":"builtin"}');
INSERT INTO events VALUES ('20260101-120000-abcdef', 2, 1, 1767268800001, 'turn/started', '{"turn":1,"source":"terminal","rule":"cards"}');
INSERT INTO events VALUES ('20260101-120000-abcdef', 3, 1, 1767268800003, 'file/intent', '{"turn":1,"call":"c1","operation":"modify","path":"/home/ada/engine/n.md"}');
INSERT INTO turns VALUES ('20260101-120000-abcdef', 1, 2);
INSERT INTO open_intents VALUES ('20260101-120000-abcdef', 3, 1, 'c1');
PRAGMA application_id = 1382313070;
PRAGMA user_version = 1;
