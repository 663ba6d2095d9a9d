import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { oneFile } from '../../scripts/builds/one-file.mjs'

/** What fastify would load for schemas of its own: no route has any. */
const UNUSED = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler']

export default defineConfig({
  entry: ['src/index.ts'],
  format: ['esm'],
  target: 'node24',
  sourcemap: true,
  dts: false,
  noExternal: ['fastify', 'fastify-plugin'],
  esbuildPlugins: [oneFile('fastify', { external: UNUSED }), oneFile('fastify-plugin')],
})
