import fc, { type Arbitrary } from 'fast-check'

/** Header fields by lower-case name. */
export type Fields = Readonly<Record<string, string>>

/** A pool small enough that keys meet again, with the same body and with others. */
const KEYS = Array.from({ length: 60 }, (_, index) => `fuzz-key-${index}`)

const BAD_KEYS = ['', ' ', 'a b', 'x'.repeat(256), '\u00e9', '\t', 'x'.repeat(2_000)]
const GOOD_KEYS = ['x'.repeat(255), '!', '~', '"\'\\', '__proto__']

/** Fields that an ordinary client sends. */
export const ordinaryFields: Arbitrary<Fields> = fc.record(
  {
    'idempotency-key': fc.constantFrom(...KEYS, ...GOOD_KEYS),
    'x-request-id': fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
    accept: fc.constantFrom('*/*', 'application/json', 'text/html', 'image/png'),
  },
  { requiredKeys: [] },
)

const values: Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({
    unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
    maxLength: 40,
  }),
  fc.constantFrom('', 'null', '*', '"1"', 'W/"1"', '"1", "2"', '"', '-1', '0x10', 'a'.repeat(3_000)),
)

/** Fields that mean something to the service, with any value, and fields that mean nothing to it. */
export const weirdFields: Arbitrary<Fields> = fc
  .tuple(
    ordinaryFields,
    fc.dictionary(
      fc.constantFrom(
        'x-request-id',
        'idempotency-key',
        'if-match',
        'if-none-match',
        'if-modified-since',
        'last-event-id',
        'accept',
        'accept-encoding',
        'accept-language',
        'range',
        'origin',
        'referer',
        'cookie',
        'forwarded',
        'x-forwarded-for',
        'x-forwarded-proto',
        'x-http-method-override',
        'x-backup-passphrase',
        'user-agent',
        'via',
        'te',
        'x-custom',
      ),
      values,
      { maxKeys: 4 },
    ),
    fc.option(fc.constantFrom(...BAD_KEYS), { freq: 6, nil: undefined }),
  )
  .map(([ordinary, weird, key]) =>
    headerSafe({ ...ordinary, ...weird, ...(key === undefined ? {} : { 'idempotency-key': key }) }),
  )

/** Media types for a body; the first is the right one. */
export const MEDIA_TYPES: readonly string[] = [
  'application/json',
  'application/json; charset=utf-8',
  'APPLICATION/JSON',
  'application/json; charset=utf-16',
  'application/json;;;',
  'application/merge-patch+json',
  'application/jsonx',
  'text/json',
  'text/plain',
  'text/csv',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'application/xml',
  '*/*',
  '',
  'json',
  ';',
]

/** Fields about the body that few clients send. */
export const bodyFields: Arbitrary<Fields> = fc.oneof(
  { weight: 10, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Fields>(
      { 'content-encoding': 'gzip' },
      { 'content-encoding': 'identity' },
      { 'transfer-encoding': 'chunked' },
      { expect: '100-continue' },
      { expect: 'the-impossible' },
      { upgrade: 'websocket', connection: 'upgrade' },
      { 'content-language': 'x'.repeat(100) },
    ),
  },
)

/** Without what a client cannot put on the wire: control characters but tab, and what is no octet. */
function headerSafe(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')]),
  )
}
