import { defineConfig } from 'tsup'

export default defineConfig({
  // What browsers get; a classic script, since modules are not loaded from files.
  entry: { site: 'src/page/main.ts', api: 'src/page/api/main.ts' },
  format: ['iife'],
  platform: 'browser',
  target: 'es2023',
  minify: true,
  clean: true,
  dts: false,
  outExtension: () => ({ js: '.js' }),
})
