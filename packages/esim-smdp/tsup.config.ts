import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { MODULE, oneFile } from '../../scripts/builds/one-file.mjs'

export default defineConfig({
  entry: ['src/plugin.ts', 'src/commands.ts'],
  ...MODULE,
  noExternal: ['qrcode'],
  esbuildPlugins: [oneFile('qrcode', { names: ['create', 'toBuffer', 'toString'] })],
})
