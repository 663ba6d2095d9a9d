import { defineConfig } from 'tsup'

export default defineConfig({
  // The second is the program that looks at packets.
  entry: { plugin: 'src/plugin.ts', 'tap-main': 'src/child/tap-main.ts' },
  format: ['esm'],
  target: 'node24',
  sourcemap: true,
  clean: true,
  dts: false,
})
