/** The link: its token is behind #, which is sent to nobody and gets into no log. RFC 3986 §3.5. */
export function consoleLink(origin: string, token: string): string {
  return `${origin}/#${token}`
}
