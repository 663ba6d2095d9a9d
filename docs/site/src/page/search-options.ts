import type { Options } from 'minisearch'

/** A section of a page, as the search knows it. */
export interface Passage {
  /** Its address from the folder of the site. */
  readonly id: string
  readonly title: string
  readonly page: string
  readonly text: string
}

/** How passages are indexed and found: words as people and commands write them, `quota_bytes` by `quota` too. */
export const INDEX_OPTIONS: Options<Passage> = {
  fields: ['title', 'page', 'text'],
  storeFields: ['title', 'page'],
  tokenize: (text) => text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== ''),
  searchOptions: {
    boost: { title: 4, page: 2 },
    prefix: (term) => term.length > 2,
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    combineWith: 'AND',
  },
}
