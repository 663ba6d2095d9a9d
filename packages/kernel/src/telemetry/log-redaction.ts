/** What stands where a secret was. */
const HIDDEN = '[redacted]'
/** What stands where an IMSI was. */
const HIDDEN_IMSI = '[imsi]'

/** Names, without case, `-` and `_`, whose values never reach a log. */
const SECRET_NAMES: ReadonlySet<string> = new Set(
  `authorization proxyauthorization cookie setcookie xbackuppassphrase passphrase password passwd secret
  secrets token accesstoken refreshtoken bootstraptoken jwt apikey privatekey psk presharedkey ki op opc k
  adm adm1 pin pin1 pin2 puk puk1 puk2 imsi supi msisdn iccid eid matchingid activationcode
  confirmationcode otpauth totp csr`.split(/\s+/),
)
/** Names whose 32 hex digits are an identifier and not a key. */
const IDENTIFIER_NAME = /(?:id|hash|sha256|trace|serial|fingerprint)$/i

/** A cheap look before the replacements: most strings end here. What is rare is looked for first, and what is before it then. */
const SUSPECT =
  /svc[a-z]?_|whsec_|bearer|basic |:\/\/[^\s@]{0,512}@|\d{15}|imsi-\d|lpa:|eyJ|PRIVATE KEY|[0-9a-f]{32}|[ :](?<=[0-9a-f]{8}.)[0-9a-f]{8}|[ :](?<=(?:[0-9a-f]{2}[ :]){4})|=(?<=[a-z0-9+/]{43}.)/i

const REPLACEMENTS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, HIDDEN],
  // A credential shows a capital or a digit; "a bearer token" in a sentence does not.
  [/\b([Bb]earer|BEARER|[Bb]asic|BASIC)\s+(?=[^\s"',;]*[A-Z0-9_=])[^\s"',;]{6,}/g, `$1 ${HIDDEN}`],
  // A token has 43 characters after its prefix; a piece of one shows a capital, which no metric name has.
  [/\bsvc[a-z]?_(?:[A-Za-z0-9_-]{40,}|(?=[a-z0-9_-]*[A-Z])[A-Za-z0-9_-]{8,})/g, HIDDEN],
  // Standard Webhooks.
  [/\bwhsec_[A-Za-z0-9+/=]+/g, HIDDEN],
  [/\bLPA:1\$[^\s"']+/gi, `LPA:${HIDDEN}`],
  // Of a store's URL all of it: its password may hold what ends a name elsewhere.
  [/\b((?:mongodb(?:\+srv)?|postgres(?:ql)?):\/\/)\S{0,512}@/gi, `$1${HIDDEN}@`],
  [/(:\/\/)[^\s/?#"']*@/g, `$1${HIDDEN}@`],
  // What is no port behind the first colon is a password, whatever is in it.
  [/(:\/\/)[^\s/?#"'@:]*:(?!\d{1,5}(?:[/?#"'),;\s]|$))[^\s@]{1,256}@/g, `$1${HIDDEN}@`],
  [/\bimsi-\d{6,15}\b/gi, HIDDEN_IMSI],
  // An NAI has a digit before the IMSI (TS 23.003 §19.3.2).
  [/(?<!\d)\d{15,16}(?=@)/g, HIDDEN_IMSI],
  // An IMSI has up to 15 digits (TS 23.003 §2.2); shorter runs are too often a time or a count, and those in a longer
  // run of hex digits a hash.
  [/\d{15}(?<!(?:\d|\d\.|\b[0-9a-f]{1,64})\d{15})(?![0-9a-f]|\.\d)/gi, HIDDEN_IMSI],
  // Ki and OPc as people and programs write them: in groups, or octet by octet.
  [/(?<![0-9a-f]:?)[0-9a-f]{8}(?:[ :][0-9a-f]{8}){3}(?!:?[0-9a-f])/gi, HIDDEN],
  [/(?<![0-9a-f]:?)[0-9a-f]{2}(?:(?: [0-9a-f]{2}){15,}|(?::[0-9a-f]{2}){15})(?!:?[0-9a-f])/gi, HIDDEN],
]
/** A preshared or private key of WireGuard: 32 octets in base64. A public one looks the same. */
const WIREGUARD_KEY = /(?<![\w+/=])[A-Za-z0-9+/]{43}=(?![\w+/=])/g
/** Names whose 32 octets are meant to be seen. */
const PUBLIC_NAME = /public|sha256|hash|digest|signature|fingerprint/i
/** How the base64url of `{"` begins. */
const JWT_HEAD = 'eyJ'
/** What a JWT can consist of. A longer pattern would be tried anew at each of its characters. */
const RUN = /[\w.-]+/g
/** Ki and OPc are 128 bits: 32 hex digits that stand alone. */
const LONE_KEY = /(?<![0-9a-f-])[0-9a-f]{32}(?![0-9a-f-])/gi

/** Deeper values are replaced by a word; facts are flat. */
const MAX_DEPTH = 8
const MAX_CAUSES = 4

/** Values that plugins keep secret. A short one would hide pieces of many words. */
const hiddenValues = new Set<string>()
const SHORTEST_HIDDEN = 6

/** No log line, reason or record shows this value from now on. */
export function hideFromNowOn(value: string): void {
  if (value.length >= SHORTEST_HIDDEN) hiddenValues.add(value)
}

/** A text without tokens, bearer credentials, private keys, IMSIs, and lone 128-bit keys in hex. */
export function scrubText(given: string, name = ''): string {
  let text = given
  for (const value of hiddenValues) text = text.replaceAll(value, HIDDEN)
  if (!SUSPECT.test(text)) return text
  let clean = text.includes(JWT_HEAD) ? text.replaceAll(RUN, (run) => withoutJwt(run)) : text
  for (const [pattern, replacement] of REPLACEMENTS) clean = clean.replaceAll(pattern, replacement)
  if (!PUBLIC_NAME.test(name)) clean = clean.replaceAll(WIREGUARD_KEY, HIDDEN)
  return IDENTIFIER_NAME.test(name) ? clean : clean.replaceAll(LONE_KEY, HIDDEN)
}

/** A run of letters without a JWT in it: three parts between dots, of which the first begins with its head. */
function withoutJwt(run: string): string {
  const parts = run.split('.')
  const first = parts.findIndex((part, i) => part.includes(JWT_HEAD) && (parts[i + 1] ?? '') !== '')
  if (first < 0 || parts.length < first + 3) return run
  const part = parts[first] ?? ''
  const before = [...parts.slice(0, first), part.slice(0, part.indexOf(JWT_HEAD))].join('.')
  return [`${before}${HIDDEN}`, ...parts.slice(first + 3)].join('.')
}

/**
 * Facts of a log line without secrets: values under secret names are hidden at any depth, texts are scrubbed, buffers
 * become their length, errors become `{type, code, message, stack, cause}` and nothing else of them.
 *
 * The facts themselves stay as they are. Never throws.
 */
export function redactFacts(facts: object): Record<string, unknown> {
  const clean: Record<string, unknown> = {}
  if (facts instanceof Error) return { err: plainError(facts, 0) }
  for (const name of Object.keys(facts)) clean[shownName(name)] = redactMember(facts, name, 0)
  return clean
}

/** Shorter than an IMSI: nothing that has to be hidden. */
const HARMLESS_NAME = 14

/** Names are the service's own words, until a plugin logs a map whose keys somebody typed. */
function shownName(name: string): string {
  return name.length <= HARMLESS_NAME ? name : scrubText(name)
}

function redactMember(owner: object, name: string, depth: number): unknown {
  let value: unknown
  try {
    value = (owner as Record<string, unknown>)[name] // an own enumerable name of the object
  } catch {
    return '[unreadable]'
  }
  return isSecretName(name) && isWorthHiding(value) ? HIDDEN : redactValue(value, name, depth)
}

function isSecretName(name: string): boolean {
  return name.length < 24 && SECRET_NAMES.has(name.toLowerCase().replaceAll(/[-_]/g, ''))
}

/** `token: undefined` and `password: false` say something useful and nothing secret. */
function isWorthHiding(value: unknown): boolean {
  return value !== undefined && value !== null && typeof value !== 'boolean' && value !== ''
}

function redactValue(value: unknown, name: string, depth: number): unknown {
  if (typeof value === 'string') return scrubText(value, name)
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  return typeof value !== 'object' || value === null ? value : redactObject(value, name, depth)
}

function redactObject(value: object, name: string, depth: number): unknown {
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString()
  if (value instanceof Error) return plainError(value, 0)
  if (depth >= MAX_DEPTH) return '[too deep]'
  if (Array.isArray(value)) return value.map((item) => redactValue(item, name, depth + 1))
  if (value instanceof Map || value instanceof Set) return `[${value.size} entries]`
  const clean: Record<string, unknown> = {}
  for (const inner of Object.keys(value)) clean[shownName(inner)] = redactMember(value, inner, depth + 1)
  return clean
}

/** Other properties of an error may hold anything: a statement's parameters, a request with its headers. */
function plainError(error: Error, causes: number): Record<string, unknown> {
  const code: unknown = 'code' in error ? error.code : undefined
  return {
    type: error.name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    message: scrubText(String(error.message)),
    ...(typeof error.stack === 'string' ? { stack: scrubText(error.stack) } : {}),
    ...(error.cause instanceof Error && causes < MAX_CAUSES
      ? { cause: plainError(error.cause, causes + 1) }
      : {}),
  }
}
