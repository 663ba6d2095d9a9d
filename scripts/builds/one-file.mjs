import { isAbsolute } from 'node:path'

/** How tsup bundles a package for the service. */
export const MODULE = { format: ['esm'], target: 'node24', sourcemap: true, clean: true, dts: false }

const WITH_ALL = 'with all that is required.'
const FIRST_LINE = new RegExp(`^// (".*") ${RegExp.escape(WITH_ALL)}\n`)

/** What a module of node's older kind is given. As such a one the whole file would be searched for what it exports, at each start. */
const AS_COMMON = [
  "import{createRequire as madeRequire}from'node:module'",
  'const require=madeRequire(import.meta.url),{filename:__filename,dirname:__dirname}=import.meta',
].join(';')

/** Whether a program is one that `oneFile` made. */
export function isOneFile(text) {
  return FIRST_LINE.test(text)
}

/** The packages that such a file was made of. */
export function packagesIn(text) {
  return FIRST_LINE.exec(text)[1]
    .split(' and ')
    .map((quoted) => JSON.parse(quoted))
}

/** The packages that such a file still requires by name. */
export function requiredBy(text) {
  return [...text.matchAll(/(?:\b|__)require\(["']([^"'.][^"']*)["']\)/g)].map(([, name]) => packageOf(name))
}

/**
 * Puts a package of somebody else, with all that it requires, into one file beside the program: node finds, reads and keeps what it
 * compiled of one file in the place of hundreds. `names` are what is imported of it; none: its default, which is the whole of it.
 * `beside` are packages that share code with it, each with what is imported of it, `default` included: they are in its file.
 * `before` are those that have to be loaded first, for what they do and not for what they export; they are in its file too.
 * tsup has to leave the package to this plugin (`noExternal`). The file names its package, which a build takes along: its terms and its
 * place in the bill of materials are there.
 */
export function oneFile(name, { names = [], beside = {}, before = [], external = [] } = {}) {
  const file = `${name
    .replace(/^@/, '')
    .replace(/(\.js)?$/, '')
    .replaceAll('/', '-')}.mjs`
  const named = Object.entries(names.length === 0 ? {} : { [name]: names, ...beside })
  const contents =
    named.length === 0
      ? `export default require('${name}')`
      : [
          ...before.map((first) => `import '${first}'`),
          ...named.map(([from, all]) => `export { ${all.join(', ')} } from '${from}'`),
        ].join('\n')
  const inside = new Set([name, ...Object.keys(beside), ...before])
  return {
    name: `one-file-${name}`,
    setup: (build) => {
      const { absWorkingDir = process.cwd(), outdir = 'dist' } = build.initialOptions
      build.onResolve({ filter: /^[^.]/ }, ({ path }) =>
        inside.has(path) ? { path: `./${file}`, external: true } : undefined,
      )
      build.onStart(async () => {
        await build.esbuild.build({
          stdin: { contents, resolveDir: absWorkingDir, sourcefile: file },
          outfile: isAbsolute(outdir) ? `${outdir}/${file}` : `${absWorkingDir}/${outdir}/${file}`,
          bundle: true,
          platform: 'node',
          format: 'esm',
          target: 'node24',
          minifyWhitespace: true,
          banner: {
            js: `// ${[...new Set([...inside].map(packageOf))].map((one) => JSON.stringify(one)).join(' and ')} ${WITH_ALL}\n${AS_COMMON}`,
          },
          legalComments: 'inline',
          external,
          logLevel: 'error',
        })
      })
    },
  }
}

/** The package of an import: `ajv` of `ajv/dist/2020.js`. */
function packageOf(name) {
  return /^(@[^/]+\/)?[^/]+/.exec(name)[0]
}
