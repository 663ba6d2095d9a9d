import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { MODULE, oneFile } from '../../scripts/builds/one-file.mjs'

export default defineConfig({
  entry: ['src/index.ts'],
  ...MODULE,
  noExternal: ['yaml'],
  esbuildPlugins: [
    oneFile('yaml', {
      names: [
        'Document',
        'isMap',
        'isNode',
        'isScalar',
        'isSeq',
        'parse',
        'parseDocument',
        'Scalar',
        'stringify',
        'visit',
      ],
    }),
  ],
})
