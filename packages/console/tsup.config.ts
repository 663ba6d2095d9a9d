import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/plugin.ts'],
  format: ['esm'],
  target: 'node24',
  sourcemap: true,
  clean: true,
  dts: false,
})
