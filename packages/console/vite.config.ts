import { defineConfig } from 'vite'

/** Names with a hash in hex behind a dot: kept by browsers for good, and taken for no piece of a program by the builds. */
const NAMED = '[name].[hash:10].js'

export default defineConfig({
  root: 'src',
  base: '/console-files/',
  appType: 'mpa',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/site',
    emptyOutDir: true,
    assetsDir: '',
    target: ['chrome120', 'firefox121', 'safari17'],
    // All files are files: a policy without data: in scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rolldownOptions: {
      output: {
        hashCharacters: 'hex',
        entryFileNames: NAMED,
        chunkFileNames: NAMED,
        assetFileNames: '[name].[hash:10].[ext]',
      },
    },
  },
})
