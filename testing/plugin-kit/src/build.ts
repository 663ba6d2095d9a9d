import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'

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
 * modules and `@steeple/contracts`, which are the service's; in the same way each module of its commands, `dist/commands.js` of
 * `src/commands.ts`. Throws an error that says what does not build.
 */
export async function buildPlugin(dir: string): Promise<BuiltPlugin> {
  if (!existsSync(join(dir, ENTRY)))
    throw new Error(`${join(dir, ENTRY)} is not there: it exports the plugin`)
  await Promise.all(
    modulesOf(dir).map((module) =>
      buildOne(dir, module.replace('./dist/', 'src/').replace(/js$/, 'ts'), module),
    ),
  )
  const file = join(dir, 'dist', 'plugin.js')
  return { file, bytes: await buildOne(dir, ENTRY, file) }
}

/** The modules of its commands, as its manifest names them. */
function modulesOf(dir: string): readonly string[] {
  const { steeple } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as {
    readonly steeple?: { readonly commands?: readonly { readonly module?: string }[] }
  }
  return [...new Set(steeple?.commands?.flatMap(({ module }) => module ?? []))]
}

/** One module with all that it imports; gives its size. */
async function buildOne(dir: string, entry: string, outfile: string): Promise<number> {
  const options = {
    absWorkingDir: dir,
    entryPoints: [entry],
    outfile,
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
  return first.outputFiles[0]?.contents.length ?? 0
}
