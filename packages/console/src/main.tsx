import { render } from 'preact'
import { begin } from './api/ways-in.ts'
import { App, isPagePath } from './app/app.tsx'
import { followLinks } from './app/router.ts'
import { loadTexts } from './text/index.ts'
import './ui/style.css'

await loadTexts()
followLinks(isPagePath)
const root = document.getElementById('app')
if (root !== null) render(<App />, root)
await begin()
