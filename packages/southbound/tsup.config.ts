import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { oneFile } from '../../scripts/builds/one-file.mjs'

export default defineConfig({
  entry: ['src/index.ts'],
  format: ['esm'],
  target: 'node24',
  sourcemap: true,
  clean: true,
  dts: false,
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
