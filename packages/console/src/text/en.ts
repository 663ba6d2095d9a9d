import { homeEn } from './home.en.ts'
import { radioEn } from './radio.en.ts'
import { rulesEn } from './rules.en.ts'
import { shellEn } from './shell.en.ts'

/** All English texts: each area has a file of its own. */
export const en = { ...shellEn, ...homeEn, ...radioEn, ...rulesEn } as const
