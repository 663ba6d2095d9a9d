import { existsSync, readFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'

/** Names with a hash in hex behind a dot: kept by browsers for good, and taken for no piece of a program by the builds. */
const NAMED = '[name].[hash:10].js'
/** The plugins that a build is without. */
const WITHOUT = (process.env.STEEPLE_WITHOUT ?? '').split(',').filter((name) => name !== '')

const lacking = WITHOUT.map((name) => {
  const manifest = new URL(`../${name}/package.json`, import.meta.url)
  // The lab core is no plugin, and lies elsewhere.
  return existsSync(manifest) ? (JSON.parse(readFileSync(manifest, 'utf8')).steeple ?? {}) : {}
})

/** Their operations in lists of the client, each with what parts it from the next. */
const operations = lacking
  .flatMap(({ paths }) => Object.keys(paths ?? {}))
  .map((path) => new RegExp(`(["'\`])[A-Z]+ ${path.replaceAll(/[^\w/-]/g, '.')}[^"'\`]*\\1,?`, 'g'))

/** Leaves out the operations of plugins that the build lacks. */
const parts: Plugin = {
  name: 'parts',
  enforce: 'pre',
  transform: (code, id) => {
    if (!/\/client\/dist\//.test(id)) return undefined
    return operations.reduce((all, each) => all.replaceAll(each, ''), code)
  },
}

export default defineConfig({
  root: 'src',
  base: '/console-files/',
  appType: 'mpa',
  plugins: [parts],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: process.env.STEEPLE_OUT ?? '../dist/site',
    emptyOutDir: true,
    assetsDir: '',
    target: ['chrome120', 'firefox121', 'safari17'],
    // All files are files: a policy without data: in scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rolldownOptions: {
      input: { index: 'src/index.html', kit: 'src/kit.ts' },
      // What the kit exports is for pages of plugins, which are built apart.
      preserveEntrySignatures: 'exports-only',
      output: {
        hashCharacters: 'hex',
        entryFileNames: ({ name }) => (name === 'kit' ? 'kit.js' : NAMED),
        chunkFileNames: NAMED,
        assetFileNames: '[name].[hash:10].[ext]',
        // One file for what pages and plugins share: on its own each part is smaller than the headers it comes with.
        codeSplitting: {
          groups: [{ name: 'shared', minShareCount: 2, test: /\/src\/(?!pages)|node_modules/ }],
        },
      },
    },
  },
})
