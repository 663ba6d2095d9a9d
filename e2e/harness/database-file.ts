import { closeSync, openSync, readFileSync, readSync, statSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'

/** Changes one byte of a file by `mask` (not 0) and gives its position. */
export function flipByte(path: string, at: number, mask = 1): number {
  const file = openSync(path, 'r+')
  try {
    const byte = Buffer.alloc(1)
    readSync(file, byte, 0, 1, at)
    byte.writeUInt8(byte.readUInt8(0) ^ mask)
    writeSync(file, byte, 0, 1, at)
    return at
  } finally {
    closeSync(file)
  }
}

/** Changes a byte in the middle of each copy of a text (or of bytes) in a file and gives how many there were. */
export function flipInText(path: string, text: string | Uint8Array): number {
  const bytes = readFileSync(path)
  const wanted = Buffer.from(text)
  let copies = 0
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) {
    flipByte(path, at + Math.floor(wanted.length / 2))
    copies++
  }
  return copies
}

/** The value that a statement with one row and one column gives. The file must not be in use. */
export function valueIn(path: string, sql: string): unknown {
  const Connection = createRequire(import.meta.url)('better-sqlite3')
  const connection = new Connection(path, { readonly: true })
  try {
    return Object.values(connection.prepare(sql).get())[0]
  } finally {
    connection.close()
  }
}

/** Bytes of a file. */
export function sizeOf(path: string): number {
  return statSync(path).size
}

/** Numbers from 0 up to below 1 that follow from `seed` alone (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
