// The process that packs, encrypts and reads backups, so that neither its memory nor its work is the service's. Its order
// comes on standard input, so no passphrase is in a list of processes; it ends when the service does.
import { writeSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isServiceError, messageOf } from '@steeple/contracts'
import {
  type ArchiveFailure,
  type ArchiveOrder,
  messageBytes,
  nextMessage,
  type PackOrder,
  type ReadOrder,
} from './archive-order.ts'
import { readArchive, writeArchive } from './format/archive.ts'
import { type ByteReader, byteReader } from './format/byte-reader.ts'
import { gentlePace } from './pace.ts'

/** Where a failure is said. */
const FAILURES = 3
/** Of a core, when it packs: requests go on beside it, and nobody waits for a backup as one does for a restore. */
const SHARE = 0.25

const input = byteReader(process.stdin)
try {
  const order = await nextMessage<ArchiveOrder>(input)
  if (order?.work === 'pack') await pack(order, input)
  else if (order?.work === 'read') await read(order, input)
  process.exit(0)
} catch (error) {
  writeSync(FAILURES, messageBytes(failureOf(error)))
  process.exit(1)
}

async function pack({ state, passphrase }: PackOrder, more: ByteReader): Promise<void> {
  // Nothing more comes: the end is that of the service, and there is nobody to pack for.
  void more.isOver().then(() => process.exit(1))
  await give(writeArchive(state, octetsOf(passphrase), { pace: gentlePace(SHARE) }))
}

async function read({ passphrase, isCheck }: ReadOrder, source: ByteReader): Promise<void> {
  const manifest = await readArchive(source.rest(), octetsOf(passphrase), {
    room: (bytes) => give(Readable.from([messageBytes({ bytes })])),
    add: async (name, size, chunks) => {
      if (!isCheck) await give(Readable.from([messageBytes({ name, size })]))
      if (!isCheck) await give(chunks)
      else for await (const _ of chunks);
    },
  })
  await give(Readable.from([messageBytes({ manifest })]))
}

/** Writes to standard output as fast as it is read there. */
async function give(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const out = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => void process.stdout.write(chunk, done),
  })
  await pipeline(chunks, out)
}

function octetsOf(passphrase: string | undefined): Buffer | undefined {
  return passphrase === undefined ? undefined : Buffer.from(passphrase, 'base64')
}

function failureOf(error: unknown): ArchiveFailure {
  const message = messageOf(error)
  return isServiceError(error) ? { message, code: error.code, status: error.status } : { message }
}
