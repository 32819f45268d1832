/** Whether a text is in the clipboard now. A browser may refuse, and has none for a page that came unencrypted from another machine. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
