/** Requests to the server. Each either gives what its name says or raises `Refused`, which a person can read. */
import { messages } from "../i18n/language.js";
import type {
  Agent,
  FileDiff,
  Folders,
  NetChange,
  NewSession,
  Problem,
  RowDetails,
  RowPage,
  SessionPage,
  SessionState,
  Sides,
  Subscriptions,
  TouchedFiles,
  UndoDone,
  UndoPreview,
  UndoSelection,
} from "./schema.js";

export class Refused extends Error {
  readonly problem: Problem;
  /** Of the answer; 0: there was none. */
  readonly status: number;

  constructor(problem: Problem, status: number) {
    super(problem.message);
    this.problem = problem;
    this.status = status;
  }
}

export function problemOf(error: unknown): Problem {
  if (error instanceof Refused) return error.problem;
  return { code: "PAGE_FAULT", message: String(error), remedy: messages().app.reload, lines: [] };
}

type Query = Record<string, string | number | null | undefined>;

export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return `api/${path}${text === "" ? "" : `?${text}`}`;
}

async function send(method: "GET" | "POST", url: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const t = messages().error;
  let answer: Response;
  try {
    answer = await fetch(url, {
      method,
      credentials: "same-origin",
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused({ code: "NO_ANSWER", message: t.network, remedy: t.networkRemedy, lines: [] }, 0);
  }
  if (answer.ok) return answer;
  throw new Refused(await problemIn(answer), answer.status);
}

async function problemIn(answer: Response): Promise<Problem> {
  const t = messages().error;
  try {
    const body: unknown = await answer.json();
    if (body !== null && typeof body === "object" && "code" in body && "message" in body) {
      const { code, message, remedy, lines } = body as Partial<Problem>;
      return { code: String(code), message: String(message), remedy: remedy ?? "", lines: lines ?? [] };
    }
  } catch {
    // No JSON: the sentence below says what there is to say.
  }
  return { code: `HTTP_${answer.status}`, message: t.unexpected(answer.status), remedy: t.unexpectedRemedy, lines: [] };
}

async function get<T>(url: string, signal?: AbortSignal): Promise<T> {
  return (await (await send("GET", url, undefined, signal)).json()) as T;
}

async function post<T>(url: string, body: unknown = {}): Promise<T> {
  return (await (await send("POST", url, body)).json()) as T;
}

function of(session: string, part: string, query: Query = {}): string {
  return address(`sessions/${encodeURIComponent(session)}/${part}`, query);
}

/** What a patch is of: a row, or all that a turn left, or the session; of one file or of all. */
export interface Selection {
  row?: string | null;
  turn?: number | null;
  path?: string | null;
}

export const api = {
  sessions: (search: string, before: number | null, signal?: AbortSignal) =>
    get<SessionPage>(address("sessions", { query: search, before }), signal),
  agents: async (): Promise<Agent[]> => (await get<{ agents: Agent[] }>(address("agents"))).agents,
  folders: () => get<Folders>(address("folders")),
  start: (session: NewSession) => post<SessionState>(address("sessions"), session),
  state: (session: string) => get<SessionState>(address(`sessions/${encodeURIComponent(session)}`)),
  rows: (session: string, before: number | null, limit: number) => get<RowPage>(of(session, "rows", { before, limit })),
  row: (session: string, id: string) => get<RowDetails>(of(session, "row", { row: id })),
  prompt: (session: string, text: string) => post<unknown>(of(session, "prompt"), { text }),
  cancel: (session: string) => post<{ cancelled: boolean }>(of(session, "cancel")),
  answer: (session: string, request: string, option: string) =>
    post<{ settled: boolean }>(of(session, "permission"), { request, option }),
  previewUndo: (session: string, selection: UndoSelection) => post<UndoPreview>(of(session, "undo/preview"), selection),
  undo: (session: string, plan: string) => post<UndoDone>(of(session, "undo"), { plan }),
  files: (session: string) => get<TouchedFiles>(of(session, "files")),
  fileDiff: (session: string, path: string) => get<FileDiff>(address("file-diff", { session, path })),
  sides: (session: string, row: string, path: string) => get<Sides>(of(session, "sides", { row, path })),
  net: (session: string, turn: number, path: string) => get<NetChange>(of(session, "net", { turn, path })),
  patchAddress: (session: string, selection: Selection) => of(session, "patch", { ...selection }),
  patch: async (session: string, selection: Selection): Promise<string> =>
    (await send("GET", of(session, "patch", { ...selection }))).text(),
  subscribe: (stream: string, subscriptions: Subscriptions) =>
    post<unknown>(address(`stream/${encodeURIComponent(stream)}`), subscriptions),
};
