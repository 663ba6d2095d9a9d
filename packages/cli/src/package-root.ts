/** This package's folder, with a final slash: the parent of both `src` and `dist`. */
export function packageRoot(): URL {
  return new URL('../', import.meta.url)
}
