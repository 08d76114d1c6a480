/** Work that may take some milliseconds each, done one by one, with room for the reader's own actions between. */

/** Milliseconds of work in one frame. */
const BUDGET = 12;

type Task = () => void | Promise<void>;

const tasks: Task[] = [];
let running = false;

/** Returns what takes the task back, as long as it has not begun. */
export function enqueue(task: Task): () => void {
  tasks.push(task);
  if (!running) {
    running = true;
    requestAnimationFrame(() => void run());
  }
  return () => {
    const at = tasks.indexOf(task);
    if (at >= 0) tasks.splice(at, 1);
  };
}

async function run(): Promise<void> {
  const end = performance.now() + BUDGET;
  do {
    const task = tasks.shift();
    if (task === undefined) break;
    await task();
  } while (performance.now() < end);
  if (tasks.length > 0) requestAnimationFrame(() => void run());
  else running = false;
}
