import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { oneFile } from '../../scripts/builds/one-file.mjs'

export default defineConfig({
  entry: ['src/plugin.ts', 'src/commands.ts'],
  format: ['esm'],
  target: 'node24',
  sourcemap: true,
  clean: true,
  dts: false,
  noExternal: ['qrcode'],
  esbuildPlugins: [oneFile('qrcode', { names: ['create', 'toBuffer', 'toString'] })],
})
