// Bundles the pages and panels that the manifest of a package names, `/notes-files/notes.js` from `pages/notes.tsx`, into `dist/pages`, where
// `pageRoutes` of contracts finds them. In the package: tsup --config ../../scripts/builds/pages.config.ts
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

const { pages = [], panels = [] } = JSON.parse(readFileSync('package.json', 'utf8')).steeple
const modules = [...pages, ...panels].map(({ module }) => basename(module, '.js'))

/** The console's own Preact and parts: a page of the console has loaded them already. */
const kit = {
  name: 'kit',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^@steeple\/console\// }, () => ({ path: '/console-files/kit.js', external: true }))
  },
}

/** Style sheets as texts, for `addStyle` of the kit: out of sight of tsup, which would put them into files of their own. */
const styles = {
  name: 'styles',
  setup: ({ onResolve, onLoad, resolve }) => {
    onResolve({ filter: /\.css$/ }, async ({ path, resolveDir, kind, pluginData }) => {
      if (pluginData === 'styles') return undefined
      const { path: file } = await resolve(path, { resolveDir, kind, pluginData: 'styles' })
      return { path: `${file}?`, namespace: 'text' }
    })
    onLoad({ filter: /./, namespace: 'text' }, ({ path }) => ({
      contents: readFileSync(path.slice(0, -1), 'utf8'),
      loader: 'text',
    }))
  },
}

export default {
  entry: Object.fromEntries(modules.map((name) => [name, `pages/${name}.tsx`])),
  outDir: 'dist/pages',
  format: 'esm',
  platform: 'browser',
  target: ['chrome120', 'firefox121', 'safari17'],
  minify: true,
  splitting: true,
  clean: true,
  dts: false,
  silent: true,
  esbuildPlugins: [kit, styles],
  esbuildOptions: (options) => {
    options.jsx = 'automatic'
    options.jsxImportSource = '@steeple/console'
  },
  onSuccess: 'node ../../scripts/builds/compress.mjs dist/pages',
}
