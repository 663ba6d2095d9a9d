/** User and password of every URL in a text become `***`. Messages about configuration go through this. */
export function redactUrls(text: string): string {
  return text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'@]*(?:@[^\s/?#"'@]*)*@/gi, '$1***@')
}
