import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { oneFile } from '../../scripts/builds/one-file.mjs'

/** What this package itself has of those that fastify needs. */
const SHARED = ['ajv', 'ajv/*', 'ajv-formats']

export default defineConfig([
  {
    entry: ['src/index.ts'],
    format: ['esm'],
    target: 'node24',
    sourcemap: true,
    dts: false,
    noExternal: ['fastify'],
    esbuildPlugins: [oneFile('fastify', { external: SHARED })],
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
