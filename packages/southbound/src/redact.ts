/** What must not be shown, and what stands in its place. */
const RULES: readonly (readonly [RegExp, string])[] = [
  // user:password@ of an address
  [/(\b[a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@'"]+@/gi, '$1<redacted>@'],
  // a value behind a telling name
  [
    /(["']?\b[\w.-]*(?:pass(?:word|wd|phrase)?|secret|token|api[_-]?key|private[_-]?key|\bopc?|\bki|\bk)["']?\s*[:=]\s*)(?!\s*$)(?:"[^"\n]*"|'[^'\n]*'|[^\s,}\]]+)/gi,
    '$1<redacted>',
  ],
  // PEM
  [/-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g, '<redacted>'],
  // keys in hex: 128 bits and more
  [/\b[0-9a-fA-F]{32,}\b/g, '<redacted>'],
  // IMSI, ICCID, IMEI and their like
  [/(?<![0-9.])\d{13,20}(?![0-9.])/g, '<redacted>'],
]

/** A text without passwords, keys and identities of subscribers. */
export function redacted(text: string): string {
  return RULES.reduce((so, [pattern, instead]) => so.replaceAll(pattern, instead), text)
}
