/** One report as the SMF sends it. */
export interface ModelReport {
  readonly ratingGroup: number
  readonly upBytes: number
  readonly downBytes: number
}

/** A record as a CHF keeps it. */
export interface ModelRecord {
  readonly imsi: string
  readonly writer: string
  readonly session: string
  readonly number: number
  readonly openedMs: number
  readonly dnn: string | undefined
  readonly reports: ModelReport[]
  isPartial?: boolean
}

/** An element with definite length, as free5GC's encoder writes it. */
export function element(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  const tags = tag > 0xffff ? [tag >> 16, (tag >> 8) & 0xff, tag & 0xff] : [tag]
  const sizes: number[] = []
  for (let rest = body.length; rest > 0; rest = Math.floor(rest / 256)) sizes.unshift(rest % 256)
  const length = body.length < 0x80 ? [body.length] : [0x80 | sizes.length, ...sizes]
  return Buffer.concat([Buffer.from([...tags, ...length]), body])
}

/** An INTEGER in as few octets as it takes, with a sign. */
export function integer(tag: number, value: number): Buffer {
  let rest = BigInt(value)
  const octets = [Number(BigInt.asUintN(8, rest))]
  while (rest > 127n || rest < -128n) {
    rest >>= 8n
    octets.unshift(Number(BigInt.asUintN(8, rest)))
  }
  return element(tag, Buffer.from(octets))
}

function text(tag: number, value: string): Buffer {
  return element(tag, Buffer.from(value, 'latin1'))
}

/** The time as the CHF of a node in UTC writes it. */
export function openingTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)
  return Buffer.concat([Buffer.from(digits, 'hex'), Buffer.from('+'), Buffer.from([0, 0])])
}

/** 32 bits with a sign, as the SMF's Go code cuts it. */
function cut(volume: number): number {
  return Number(BigInt.asIntN(32, BigInt(volume)))
}

export function reportBytes({ ratingGroup, upBytes, downBytes }: ModelReport): Buffer {
  const container = element(
    0x30,
    integer(0x84, cut(upBytes + downBytes)),
    integer(0x85, cut(upBytes)),
    integer(0x86, cut(downBytes)),
    integer(0x87, 0),
    integer(0x89, 0),
  )
  return element(0x30, integer(0x80, ratingGroup), element(0xa1, container), text(0x82, 'upf'))
}

export function recordBytes(record: ModelRecord): Buffer {
  const { imsi, writer, session, number, openedMs, dnn, reports, isPartial } = record
  return element(
    0xbf8148,
    integer(0x80, 200),
    text(0x81, writer),
    element(0xa2, integer(0x80, 1), text(0x81, imsi)),
    element(0xa3, integer(0x80, 1), text(0x81, 'SMF'), element(0xa2, text(0x82, '127.0.0.2'))),
    ...(reports.length === 0 ? [] : [element(0xa5, ...reports.map(reportBytes))]),
    element(0x86, openingTime(openedMs)),
    integer(0x87, 0),
    ...(isPartial === true ? [integer(0x88, 1)] : []),
    integer(0x89, isPartial === true ? 1 : 0),
    integer(0x8b, number),
    ...(dnn === undefined
      ? []
      : [
          element(
            0xad,
            integer(0x80, 1),
            integer(0x86, 1),
            element(0xa7, integer(0x80, 1), text(0x81, '010203')),
            text(0x8d, dnn),
          ),
        ]),
    text(0x90, session),
    integer(0x9b, 1),
  )
}

/** A file of charging records (TS 32.297). */
export function fileBytes(bodies: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(52)
  const records = bodies.map((body) =>
    Buffer.concat([Buffer.from([(body.length >> 8) & 0xff, body.length & 0xff, 0x00, 0x20]), body]),
  )
  const whole = Buffer.concat([header, ...records])
  whole.writeUInt32BE(whole.length, 0)
  whole.writeUInt32BE(header.length, 4)
  whole.writeUInt32BE(bodies.length, 18)
  return whole
}
