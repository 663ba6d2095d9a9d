// Compresses built pages as far as it goes, once: the service only chooses. node scripts/builds/compress.mjs FOLDER
// With STEEPLE_LIGHTLY it goes less far, in a tenth of the time: for builds that are only tried.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv } from 'node:process'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const [, , folder] = argv
/** Below it the head of an answer is more than what is saved. */
const LEAST_BYTES = 256
const QUALITY = process.env.STEEPLE_LIGHTLY === undefined ? 11 : 4

for (const name of readdirSync(folder)) {
  if (/\.(br|gz|png|woff2)$/.test(name)) continue
  const content = readFileSync(join(folder, name))
  if (content.length < LEAST_BYTES) continue
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  }
  writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content, { params }))
  writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }))
}
