import MiniSearch from 'minisearch'
import { byId } from './dom.ts'
import { type Hit, startMenu, startSearch } from './frame.ts'
import { INDEX_OPTIONS, type Passage } from './search-options.ts'

declare global {
  /** What `search-index.js` leaves here. */
  var steepleIndex: string | undefined
}

/** The folder of the site, as seen from this page. */
const root = document.currentScript?.dataset.root ?? '.'
/** Loaded at the first use. */
let index: Promise<MiniSearch<Passage>> | undefined

startMenu()
startSearch(async (wanted) => {
  index ??= loadIndex()
  return (await index)
    .search(wanted)
    .map(({ id, title, page }): Hit => ({ href: `${root}/${id}`, title: String(title), note: String(page) }))
})
// Beside the service is the page of its API, beside files nothing.
byId('api').hidden = !location.protocol.startsWith('http')

/** A script, since a page that is read as a file may load nothing else. */
function loadIndex(): Promise<MiniSearch<Passage>> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = `${root}/search-index.js`
    script.addEventListener('load', () =>
      resolve(MiniSearch.loadJSON(globalThis.steepleIndex ?? '', INDEX_OPTIONS)),
    )
    script.addEventListener('error', () => reject(new Error('the index of the search could not be loaded')))
    document.head.append(script)
  })
}
