import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { MODULE, oneFile } from '../../scripts/builds/one-file.mjs'

export default defineConfig({
  entry: ['src/index.ts'],
  ...MODULE,
  noExternal: ['ajv', 'ajv-formats', 'yaml'],
  esbuildPlugins: [
    oneFile('ajv/dist/2020.js', { names: ['Ajv2020'], beside: { 'ajv-formats': ['default'] } }),
    oneFile('yaml', { names: ['isAlias', 'isMap', 'isScalar', 'isSeq', 'LineCounter', 'parseDocument'] }),
  ],
})
