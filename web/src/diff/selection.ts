/** Whether the reader has selected something inside of a viewer. A selection in a shadow tree shows from there only. */
export function holdsSelection(host: HTMLElement): boolean {
  const root: (ShadowRoot & { getSelection?: () => Selection | null }) | null = host.shadowRoot;
  const inside = root?.getSelection?.();
  if (inside)
    return inside.type === "Range" && inside.anchorNode !== null && (root?.contains(inside.anchorNode) ?? false);
  const selection = document.getSelection();
  if (selection === null || selection.type !== "Range") return false;
  return selection.containsNode(host, true);
}
