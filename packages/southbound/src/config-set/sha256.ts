import { createHash } from 'node:crypto'
import type { Rendered } from '@steeple/contracts'

/** SHA-256 of a text's UTF-8, 64 hex characters. */
export function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** A set of files with the hash over their names and bytes, whatever their order. */
export function renderedOf(files: ReadonlyMap<string, string>): Rendered {
  const hash = createHash('sha256')
  for (const path of [...files.keys()].sort()) {
    const content = files.get(path) ?? ''
    hash.update(`${Buffer.byteLength(path)}:${path}${Buffer.byteLength(content)}:${content}`)
  }
  return { files, sha256: hash.digest('hex') }
}
