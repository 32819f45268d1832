/** Copies a text; returns whether it worked. A browser may refuse, and has no clipboard for an unencrypted page from another machine. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
