import type { ChannelDirection, NrRestrictedRow } from './band-row.ts'

// Written by scripts/make-band-data.mjs; change the tables in fixtures/bands, not this file.
/**
 * NR-ARFCNs that a band allows for one channel bandwidth in MHz only.
 *
 * Source: notes of TS 38.104 table 5.4.2.3-1 and TS 38.101-1 table 5.4.2.3-1.
 */
export const NR_RESTRICTED_ARFCN: readonly NrRestrictedRow[] = [
  ['n46', 10, 'both', [782000, 788668]],
  [
    'n46',
    20,
    'both',
    [
      744000, 745332, 746668, 748000, 749332, 750668, 752000, 753332, 754668, 756000, 765332, 766668, 768000,
      769332, 770668, 772000, 773332, 774668, 776000, 777332, 778668, 780000, 781332, 783000, 784332, 785668,
      787000, 788332, 789668, 791000, 792332, 793668,
    ],
  ],
  [
    'n46',
    40,
    'both',
    [
      744668, 746000, 748668, 751332, 754000, 755332, 766000, 767332, 770000, 772668, 775332, 778000, 780668,
      783668, 786332, 787668, 790332, 793000,
    ],
  ],
  [
    'n46',
    60,
    'both',
    [
      745332, 746668, 748000, 752000, 753332, 754668, 766668, 768000, 769332, 773332, 774668, 778668, 780000,
      784332, 785668, 791000, 792332,
    ],
  ],
  ['n46', 80, 'both', [746000, 747332, 752668, 754000, 767332, 768668, 774000, 779332, 785000, 791668]],
  ['n46', 100, 'both', [746668, 753332, 768000, 791000]],
  ['n96', 20, 'DL', [795668]],
  [
    'n96',
    20,
    'both',
    [
      797000, 798332, 799668, 801000, 802332, 803668, 805000, 806332, 807668, 809000, 810332, 811668, 813000,
      814332, 815668, 817000, 818332, 819668, 821000, 822332, 823668, 825000, 826332, 827668, 829000, 830332,
      831668, 833000, 834332, 835668, 837000, 838332, 839668, 841000, 842332, 843668, 845000, 846332, 847668,
      849000, 850332, 851668, 853000, 854332, 855668, 857000, 858332, 859668, 861000, 862332, 863668, 865000,
      866332, 867668, 869000, 870332, 871668, 873000, 874332,
    ],
  ],
  [
    'n96',
    40,
    'both',
    [
      797668, 800332, 803000, 805668, 808332, 811000, 813668, 816332, 819000, 821668, 824332, 827000, 829668,
      832332, 835000, 837668, 840332, 843000, 845668, 848332, 851000, 853668, 856332, 859000, 861668, 864332,
      867000, 869668, 872332,
    ],
  ],
  [
    'n96',
    60,
    'both',
    [
      798332, 799668, 803668, 805000, 809000, 810332, 814332, 815668, 819668, 821000, 825000, 826332, 830332,
      831668, 835668, 837000, 841000, 842332, 846332, 847668, 851668, 853000, 857000, 858332, 862332, 863668,
      867668, 869000, 873000,
    ],
  ],
  [
    'n96',
    80,
    'both',
    [
      799000, 804332, 809668, 815000, 820332, 825668, 831000, 836332, 841668, 847000, 852332, 857668, 863000,
      868332,
    ],
  ],
  [
    'n96',
    100,
    'both',
    [
      799668, 803668, 810332, 814332, 821000, 825000, 831668, 835668, 842332, 846332, 853000, 857000, 863668,
      867668, 869000, 870332, 871668,
    ],
  ],
  ['n102', 20, 'DL', [795668]],
  [
    'n102',
    20,
    'both',
    [
      797000, 798332, 799668, 801000, 802332, 803668, 805000, 806332, 807668, 809000, 810332, 811668, 813000,
      814332, 815668, 817000, 818332, 819668, 821000, 822332, 823668, 825000, 826332, 827668,
    ],
  ],
  [
    'n102',
    40,
    'both',
    [797668, 800332, 803000, 805668, 808332, 811000, 813668, 816332, 819000, 821668, 824332, 827000],
  ],
  [
    'n102',
    60,
    'both',
    [798332, 799668, 803668, 805000, 809000, 810332, 814332, 815668, 819668, 821000, 825000, 826332],
  ],
  ['n102', 80, 'both', [799000, 804332, 809668, 815000, 820332, 825668]],
  ['n102', 100, 'both', [799668, 803668, 810332, 814332, 821000, 825000]],
  ['n28', 40, 'UL', [144608]],
  ['n28', 40, 'DL', [155608]],
  ['n106', 3, 'UL', [179800]],
  ['n106', 3, 'DL', [187600]],
]

/**
 * Bands in which the listed NR-ARFCNs are the only allowed ones. The other listed band, n28, has its point
 * in addition to the channel raster.
 *
 * Source: notes of TS 38.101-1 table 5.4.2.3-1.
 */
const LISTED_ONLY: readonly string[] = ['n46', 'n96', 'n102', 'n106']

/** Whether the number is a channel of the band beside its channel raster (n28, 40 MHz). */
export function isExtraPoint(band: string, channel: number): boolean {
  return !LISTED_ONLY.includes(band) && listedBandwidths(band, channel).length > 0
}

/**
 * What the band's list of allowed numbers says of a channel.
 *
 * - `allowed`: false when the band has a list for it and the number is not on it.
 * - `isDownlinkOnly`: the number is listed for the downlink of a TDD band alone.
 *
 * `bandwidthMhz` absent asks for any bandwidth.
 */
export function listedPosition(
  band: string,
  channel: number,
  direction: ChannelDirection,
  bandwidthMhz: number | undefined,
): { readonly allowed: boolean; readonly isDownlinkOnly: boolean } {
  if (!LISTED_ONLY.includes(band)) return { allowed: true, isDownlinkOnly: false }
  const listed = listedBandwidths(band, channel).filter(
    ([bandwidth]) => bandwidthMhz === undefined || bandwidth === bandwidthMhz,
  )
  const isDownlinkOnly = direction === 'both' && listed.length > 0 && listed.every(([, use]) => use === 'DL')
  return { allowed: listed.length > 0, isDownlinkOnly }
}

/** Bandwidths in MHz, with the direction, that the list gives for a number. */
export function listedBandwidths(
  band: string,
  channel: number,
): readonly (readonly [bandwidthMhz: number, direction: ChannelDirection])[] {
  return NR_RESTRICTED_ARFCN.filter((row) => row[0] === band && row[3].includes(channel)).map(
    ([, bandwidthMhz, direction]) => [bandwidthMhz, direction],
  )
}
