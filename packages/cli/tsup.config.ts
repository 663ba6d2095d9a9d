import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { MODULE, oneFile } from '../../scripts/builds/one-file.mjs'

export default defineConfig({
  entry: ['src/main.ts'],
  ...MODULE,
  noExternal: ['commander', 'qrcode'],
  esbuildPlugins: [
    oneFile('commander', {
      names: ['Argument', 'Command', 'CommanderError', 'InvalidArgumentError', 'Option'],
    }),
    oneFile('qrcode', { names: ['create', 'toBuffer', 'toString'] }),
  ],
})
