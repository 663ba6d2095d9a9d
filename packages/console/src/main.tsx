import { render } from 'preact'
import { begin } from './api/ways-in.ts'
import { App, isPagePath } from './app/app.tsx'
import { PAGES } from './app/pages.ts'
import { knowPages } from './app/pages-here.ts'
import { followLinks, match } from './app/router.ts'
import { loadTexts } from './text/index.ts'
import './ui/style.css'

// What is needed in the end is asked for at once: texts, who is signed in, and the page at the address.
const begun = begin()
const here = location.pathname
const first =
  PAGES.find(({ path }) => path === here) ?? PAGES.find(({ path }) => match(path, here) !== undefined)
first?.load().catch(() => undefined)
await loadTexts()
knowPages(PAGES)
followLinks(isPagePath)
const root = document.getElementById('app')
root?.replaceChildren()
if (root !== null) render(<App />, root)
await begun
