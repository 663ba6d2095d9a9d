/** Mobile country codes by country: `DE262`, of several `US310-316`. ITU-T E.212 annex A; those without a country are below. */
const CODES = `
AD213 AE424 AE430 AE431 AF412 AG344 AI365 AL276 AM283 AO631 AR722 AS544 AT232 AU505 AW363 AZ400 BA218 BB342 BD470 BE206 BF613 BG284 BH426
BI642 BJ616 BM350 BN528 BO736 BQ362 BR724 BS364 BT402 BW652 BY257 BZ702 CA302 CD630 CF623 CG629 CH228 CI612 CK548 CL730 CM624 CN460 CN461
CO732 CR712 CU368 CV625 CW362 CY280 CZ230 DE262 DJ638 DK238 DM366 DO370 DZ603 EC740 EE248 EG602 ER657 ES214 ET636 FI244 FJ542 FK750 FM550
FO288 FR208 GA628 GB234 GB235 GD352 GE282 GF340 GF742 GG234 GH620 GI266 GL290 GM607 GN611 GP340 GQ627 GR202 GT704 GU310 GU311 GW632 GY738
HK454 HN708 HR219 HT372 HU216 ID510 IE272 IL425 IM234 IN404-406 IQ418 IR432 IS274 IT222 JE234 JM338 JO416 JP440 JP441 KE639 KG437 KH456
KI545 KM654 KN356 KP467 KR450 KW419 KY346 KZ401 LA457 LB415 LC358 LI295 LK413 LR618 LS651 LT246 LU270 LV247 LY606 MA604 MC212 MD259 ME297
MF340 MG646 MH551 MK294 ML610 MM414 MN428 MO455 MP310 MQ340 MR609 MS354 MT278 MU617 MV472 MW650 MX334 MY502 MZ643 NA649 NC546 NE614 NG621
NI710 NL204 NO242 NP429 NR536 NU555 NZ530 OM422 PA714 PE716 PF547 PG537 PH515 PK410 PL260 PM308 PR330 PS425 PT268 PW552 PY744 QA427 RE647
RO226 RS220 RU250 RW635 SA420 SB540 SC633 SD634 SE240 SG525 SH658 SI293 SK231 SL619 SM292 SN608 SO637 SR746 SS659 ST626 SV706 SX362 SY417
SZ653 TC376 TD622 TG615 TH520 TJ436 TK554 TL514 TM438 TN605 TO539 TR286 TT374 TV553 TW466 TZ640 UA255 UG641 US310-316 UY748 UZ434 VA225
VC360 VE734 VG348 VI332 VN452 VU541 WF543 WS549 XK221 YE421 YT647 ZA655 ZM645 ZW648`
  .trim()
  .split(/\s+/)
  .flatMap((entry) => {
    const [first = 0, last = first] = entry.slice(2).split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => ({
      country: entry.slice(0, 2),
      mcc: String(first + index),
    }))
  })

/** For trials and private networks, in every country. ITU-T E.212 annex A and clause 8. */
const NOWHERE: readonly string[] = ['001', '999']
/** Codes whose networks have three digits. TS 23.003 clause 2.2: the length is the country's to say. */
const THREE_DIGITS: readonly string[] = ['302', '310', '311', '312', '313', '314', '315', '316']

/** The countries that have a mobile country code (ISO 3166-1). */
export function countries(): readonly string[] {
  return [...new Set(CODES.map(({ country }) => country))]
}

/** The code that a country's networks begin with, the first of several; undefined: none is known. */
export function codeOf(country: string): string | undefined {
  return CODES.find((one) => one.country === country)?.mcc
}

/** What does not fit about a network's number in a country; undefined: all does. */
export function misfit(
  country: string,
  mcc: string,
  mnc: string,
):
  | { readonly why: 'unassigned' | 'elsewhere' | 'length'; readonly countries: readonly string[] }
  | undefined {
  if (NOWHERE.includes(mcc)) return undefined
  const owners = CODES.filter((one) => one.mcc === mcc).map((one) => one.country)
  if (owners.length === 0) return { why: 'unassigned', countries: [] }
  if (/^[A-Z]{2}$/.test(country) && !owners.includes(country)) return { why: 'elsewhere', countries: owners }
  return THREE_DIGITS.includes(mcc) && mnc.length !== 3 ? { why: 'length', countries: owners } : undefined
}
