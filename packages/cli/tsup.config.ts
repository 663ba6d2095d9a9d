import { execFileSync } from 'node:child_process'
import { basename } from 'node:path'
import { defineConfig, type Options } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { oneFile } from '../../scripts/builds/one-file.mjs'

/** When the newest commit was made, for `GET /v1/version`; nothing is known of a copy without its history. */
function buildDate(): string {
  try {
    const { SOURCE_DATE_EPOCH: epoch } = process.env
    const format = ['log', '-1', '--format=%cI']
    const text =
      epoch === undefined ? execFileSync('git', format, { encoding: 'utf8' }) : Number(epoch) * 1000
    return new Date(typeof text === 'string' ? text.trim() : text).toISOString()
  } catch {
    return ''
  }
}

/** Parts that this build is without, by the names of their packages: `src/parts/<name>.ts` is empty then, and so is what it loads. */
const without = new Set((process.env.STEEPLE_WITHOUT ?? '').split(','))
const emptyParts: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'empty-parts',
  setup: (build) =>
    build.onLoad({ filter: /\/parts\/[a-z0-9-]+\.ts$/ }, ({ path }) =>
      without.has(basename(path, '.ts')) ? { contents: 'export const part = {}', loader: 'ts' } : undefined,
    ),
}

export default defineConfig({
  entry: ['src/main.ts'],
  format: ['esm'],
  target: 'node24',
  // A build has no maps, and with them names of pieces would depend on where the checkout lies.
  sourcemap: process.env.STEEPLE_WITHOUT === undefined,
  clean: true,
  dts: false,
  define: { STEEPLE_BUILD_DATE: JSON.stringify(buildDate()) },
  noExternal: ['commander', 'qrcode'],
  esbuildPlugins: [
    emptyParts,
    oneFile('commander', {
      names: ['Argument', 'Command', 'CommanderError', 'InvalidArgumentError', 'Option'],
    }),
    oneFile('qrcode', { names: ['create', 'toBuffer', 'toString'] }),
  ],
})
