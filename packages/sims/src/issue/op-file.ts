import { readFile } from 'node:fs/promises'
import { configInvalid } from '@steeple/contracts'
import { octetsFromHex, wipe } from '../secrets/octets.ts'

/** The operator's OP from its file; undefined when none is configured. Throws `config_invalid`. */
export async function readOp(path: string): Promise<Uint8Array | undefined> {
  if (path === '') return undefined
  const text = await readFile(path).catch((cause: unknown) => {
    throw configInvalid(`sims.op_file: ${path} cannot be read`, { cause })
  })
  const end = text.findLastIndex((char) => char > 0x20) + 1
  const op = octetsFromHex(text.subarray(0, end))
  wipe(text)
  if (op?.length !== 16) throw configInvalid(`sims.op_file: ${path} must hold 32 hexadecimal digits`)
  return op
}
