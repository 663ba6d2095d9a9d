/** In the pages of plugins a style sheet is text, for `addStyle` of the kit. */
declare module '*.css' {
  const css: string
  // biome-ignore lint/style/noDefaultExport: the loader of texts gives them so
  export default css
}
