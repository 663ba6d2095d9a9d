import { defineConfig } from 'tsup'

export default defineConfig([
  {
    entry: ['src/index.ts'],
    format: ['esm'],
    target: 'node24',
    sourcemap: true,
    dts: false,
  },
  // The documentation page: what browsers get, in one file beside its static ones.
  {
    entry: { page: 'src/page/main.ts' },
    outDir: 'dist/docs',
    publicDir: 'src/page/static',
    format: ['esm'],
    platform: 'browser',
    target: 'es2023',
    minify: true,
    dts: false,
  },
])
