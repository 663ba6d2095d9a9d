import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { MODULE, oneFile } from '../../scripts/builds/one-file.mjs'

export default defineConfig({
  entry: ['src/index.ts'],
  ...MODULE,
  noExternal: ['undici'],
  esbuildPlugins: [oneFile('undici', { names: ['Agent'] })],
})
