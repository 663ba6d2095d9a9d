import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'

/** A program that was built. */
export interface BuiltPlugin {
  /** Absolute path of `dist/plugin.js`. */
  readonly file: string
  readonly bytes: number
}

const ENTRY = 'src/plugin.ts'
/** What esbuild writes where a package of the older kind asks for one of Node's own modules while it runs. */
const ASKS_LATE = 'Dynamic require of'
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);"

/**
 * Builds the plugin in a folder: `src/plugin.ts` and all that it imports into one file, `dist/plugin.js`, but for Node's own
 * modules and `@steeple/contracts`, which are the service's. Throws an error that says what does not build.
 */
export async function buildPlugin(dir: string): Promise<BuiltPlugin> {
  if (!existsSync(join(dir, ENTRY)))
    throw new Error(`${join(dir, ENTRY)} is not there: it exports the plugin`)
  const file = join(dir, 'dist', 'plugin.js')
  const options = {
    absWorkingDir: dir,
    entryPoints: [ENTRY],
    outfile: file,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external: ['@steeple/contracts'],
    charset: 'utf8',
    legalComments: 'eof',
    logLevel: 'silent',
    write: false,
  } satisfies BuildOptions
  const first = await build(options)
  const isLate = first.outputFiles.some(({ text }) => text.includes(ASKS_LATE))
  await build({ ...options, write: true, ...(isLate ? { banner: { js: REQUIRE } } : {}) })
  return { file, bytes: first.outputFiles[0]?.contents.length ?? 0 }
}
