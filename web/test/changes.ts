/** Changes, rows and lines for tests, each with only what the test is about. */
import type { Change, PermissionRow, Row, Side, ToolRow } from "../src/wire/rows.js";

export function side(more: Partial<Side> = {}): Side {
  return {
    blob: "0".repeat(40),
    size: 10,
    executable: false,
    eol: "lf",
    bom: false,
    final_newline: true,
    utf8: true,
    lines: null,
    ...more,
  };
}

/** Lines begin with ' ', '-' or '+'. */
export function hunk(lines: string[], oldStart = 1, newStart = oldStart): Change["hunks"][number] {
  const count = (other: string): number => lines.filter((line) => line[0] !== other).length;
  return { old_start: oldStart, old_lines: count("+"), new_start: newStart, new_lines: count("-"), lines };
}

export function change(more: Partial<Change> = {}): Change {
  const hunks = more.hunks ?? [hunk([" a", "-b", "+c", "+d"])];
  const lines = hunks.flatMap((one) => one.lines);
  return {
    path: "/w/a.py",
    name: "a.py",
    old_path: null,
    old_name: null,
    operation: "modify",
    file_type: "text",
    provenance: "result",
    added: lines.filter((line) => line.startsWith("+")).length,
    removed: lines.filter((line) => line.startsWith("-")).length,
    exact: true,
    at_least: false,
    anchored: true,
    truncated: false,
    redacted: false,
    facts: [],
    hidden: [],
    before: side(),
    after: side(),
    diff_lines: lines.length,
    hunks_omitted: false,
    ...more,
    hunks,
  };
}

export function tool(more: Partial<ToolRow> = {}): ToolRow {
  return {
    kind: "tool",
    id: "tool:1:t1",
    turn: 1,
    seq: 1,
    revision: 1,
    at: 0,
    call: "t1",
    name: "edit",
    tool_kind: "edit",
    status: "completed",
    title: "Edit a.py",
    description: null,
    card: "generic",
    locations: [],
    content: [],
    output: "",
    cut: false,
    exit_code: null,
    time_limit: null,
    signal: null,
    note: null,
    proposed: [],
    changes: [],
    error: null,
    warnings: [],
    permission: null,
    reverted: false,
    reverted_paths: [],
    reverted_hunks: [],
    has_raw: false,
    ...more,
  };
}

export function permission(more: Partial<PermissionRow> = {}): PermissionRow {
  return {
    kind: "permission",
    id: "permission:1",
    turn: 1,
    seq: 1,
    revision: 1,
    at: 0,
    request: "p1",
    call: "t1",
    title: "Edit a.py",
    changes: [],
    note: "",
    options: [],
    outcome: null,
    by: null,
    ...more,
  };
}

export function agent(id: string, text: string, more: Partial<Row> = {}): Row {
  return { kind: "agent", id, turn: 1, seq: 1, revision: 1, at: 0, text, covered_fences: [], ...more } as Row;
}
