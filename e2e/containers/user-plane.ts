import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'

const PORT = 8805
const MESSAGE = { heartbeat: 1, association: 5, establishment: 50, modification: 52, deletion: 54 } as const
/** Information elements of TS 29.244 §8.1.2. */
const IE = {
  createQer: 7,
  cause: 19,
  mbr: 26,
  upFeatures: 43,
  fSeid: 57,
  nodeId: 60,
  recoveryTime: 96,
} as const
const ACCEPTED = 1

/** A UPF's answers to an SMF, without any traffic: it takes everything. TS 29.244. */
export interface UserPlane {
  /** How often an SMF has associated with it. */
  associations(): number
  /** Sessions that it holds. */
  sessions(): number
  /** How many sessions it was ever told to set up. */
  begun(): number
  /** The rates of the latest session, kbit/s up and down, one for each QER that has some. */
  rates(): readonly (readonly [number, number])[]
  close(): void
}

interface Element {
  readonly type: number
  readonly value: Buffer
}

/** Starts one at `address`. */
export async function startUserPlane(address: string): Promise<UserPlane> {
  const socket = createSocket('udp4')
  const own = Buffer.from(address.split('.').map(Number))
  const seids = new Map<bigint, bigint>()
  let [associations, lastSeid] = [0, 0n]
  let rates: readonly (readonly [number, number])[] = []
  const nodeId = element(IE.nodeId, Buffer.concat([Buffer.of(0), own]))
  const recovery = element(IE.recoveryTime, Buffer.of(0xea, 0, 0, 1))
  const cause = element(IE.cause, Buffer.of(ACCEPTED))

  function establish(body: Buffer): { readonly seid: bigint; readonly answer: Buffer } {
    const elements = elementsIn(body)
    lastSeid += 1n
    const seid = elements.find(({ type }) => type === IE.fSeid)?.value.readBigUInt64BE(1) ?? 0n
    seids.set(lastSeid, seid)
    rates = elements.filter(({ type }) => type === IE.createQer).flatMap(({ value }) => ratesIn(value))
    const number = Buffer.alloc(8)
    number.writeBigUInt64BE(lastSeid)
    const fSeid = element(IE.fSeid, Buffer.concat([Buffer.of(2), number, own]))
    return { seid, answer: Buffer.concat([nodeId, cause, fSeid]) }
  }

  function answerTo(type: number, body: Buffer, seid: bigint): { seid?: bigint; answer: Buffer } | undefined {
    if (type === MESSAGE.heartbeat) return { answer: recovery }
    if (type === MESSAGE.establishment) return establish(body)
    const theirs = seids.get(seid) ?? 0n
    if (type === MESSAGE.modification) return { seid: theirs, answer: cause }
    if (type === MESSAGE.deletion) {
      seids.delete(seid)
      return { seid: theirs, answer: cause }
    }
    if (type !== MESSAGE.association) return undefined
    associations += 1
    return { answer: Buffer.concat([nodeId, cause, recovery, element(IE.upFeatures, Buffer.of(0, 0))]) }
  }

  socket.on('message', (message: Buffer, from: RemoteInfo) => {
    const type = message.readUInt8(1)
    const hasSeid = (message.readUInt8(0) & 1) === 1
    const [at, seid] = hasSeid ? [12, message.readBigUInt64BE(4)] : [4, 0n]
    const sequence = message.subarray(at, at + 3)
    const answer = answerTo(type, message.subarray(at + 4), seid)
    if (answer !== undefined) socket.send(packed(type + 1, sequence, answer), from.port, from.address)
  })
  socket.bind(PORT, address)
  await once(socket, 'listening')
  return {
    associations: () => associations,
    sessions: () => seids.size,
    begun: () => Number(lastSeid),
    rates: () => rates,
    close: () => void socket.close(),
  }
}

function packed(
  type: number,
  sequence: Buffer,
  { seid, answer }: { readonly seid?: bigint; readonly answer: Buffer },
): Buffer {
  const number = Buffer.alloc(seid === undefined ? 0 : 8)
  if (seid !== undefined) number.writeBigUInt64BE(seid)
  const head = Buffer.of(seid === undefined ? 0x20 : 0x21, type, 0, 0)
  head.writeUInt16BE(number.length + 4 + answer.length, 2)
  return Buffer.concat([head, number, sequence, Buffer.of(0), answer])
}

function element(type: number, value: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt16BE(type)
  head.writeUInt16BE(value.length, 2)
  return Buffer.concat([head, value])
}

function elementsIn(body: Buffer): readonly Element[] {
  const found: Element[] = []
  for (let at = 0; at + 4 <= body.length; ) {
    const end = at + 4 + body.readUInt16BE(at + 2)
    found.push({ type: body.readUInt16BE(at), value: body.subarray(at + 4, end) })
    at = end
  }
  return found
}

function ratesIn(qer: Buffer): readonly (readonly [number, number])[] {
  return elementsIn(qer)
    .filter(({ type }) => type === IE.mbr)
    .map(({ value }) => [value.readUIntBE(0, 5), value.readUIntBE(5, 5)] as const)
}
