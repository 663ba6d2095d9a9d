import { render } from 'preact'
import { begin } from './api/ways-in.ts'
import { App, isPagePath } from './app/app.tsx'
import { PAGES } from './app/pages.ts'
import { knowPages } from './app/pages-here.ts'
import { followLinks } from './app/router.ts'
import { loadTexts } from './text/index.ts'
import './ui/style.css'

await loadTexts()
knowPages(PAGES)
followLinks(isPagePath)
const root = document.getElementById('app')
if (root !== null) render(<App />, root)
await begin()
