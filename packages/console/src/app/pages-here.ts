import { has } from '../api/features.ts'
import { may } from '../api/session.ts'
import { PAGES, type Page } from './pages.ts'

/** The pages that who is signed in may see, of the parts that the box has. */
export function pagesHere(): readonly Page[] {
  return PAGES.filter(({ role, feature }) => may(role) && (feature === undefined || has(feature)))
}
