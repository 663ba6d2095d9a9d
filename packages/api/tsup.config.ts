import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { oneFile } from '../../scripts/builds/one-file.mjs'

/** What fastify would load for schemas of its own: no route has any. */
const UNUSED = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler']
/**
 * The router compiles a function for each piece of a path, hundreds of them at a start. What they save is a few ns of a request; nobody
 * waits for those.
 */
const ROUTER = {
  'find-my-way/lib/node.js': [
    `const lines = []
  for (let i = 1; i < prefix.length; i++) {
    const charCode = prefix.charCodeAt(i)
    lines.push(\`path.charCodeAt(i + \${i}) === \${charCode}\`)
  }
  return new Function('path', 'i', \`'use strict'\\nreturn \${lines.join(' && ')}\`)`,
    'return (path, i) => path.startsWith(prefix, i)',
  ],
}

export default defineConfig([
  {
    entry: ['src/index.ts'],
    format: ['esm'],
    target: 'node24',
    sourcemap: true,
    dts: false,
    noExternal: ['fastify'],
    esbuildPlugins: [oneFile('fastify', { external: UNUSED, changes: ROUTER })],
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
