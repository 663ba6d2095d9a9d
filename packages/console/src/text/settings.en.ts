/** Texts of the settings. */
export const settingsEn = {
  'settings.title': 'Settings',
  'settings.how':
    'Settings stand in the configuration file of the box (/etc/svc/control.yaml, or the one that --config names) and are changed there; then the service reads it again:',
  'settings.docs': 'All settings, with what they are for',
  'settings.search': 'Find a setting',
  'settings.onlySet': 'Only what somebody has set',
  'settings.count': '{count} of {all} {all|setting|settings}',
  'settings.awaiting':
    '{count} {count|setting has|settings have} another value that counts from the next start of the service on:',
  'settings.awaits': 'awaits a start',
  'settings.isSet': 'set',
  'settings.value': 'In force',
  'settings.default': 'Without it',
  'settings.from': 'From',
  'settings.from.default': 'nobody has set it',
  'settings.takes': 'Takes',
  'settings.counts': 'A change counts',
  'settings.apply.hot': 'at once, when the file is read again',
  'settings.apply.reload': 'when the file is read again: its plugin is reloaded',
  'settings.apply.restart': 'from the next start of the service on',
  'settings.variable': 'Variable',
  'settings.flag': 'Flag',
  'settings.plugin': 'Of the plugin',
  'settings.inFile': 'In the file:',
  'settings.empty': 'empty',
  'settings.none': 'No setting is called that',
  'settings.none.help': 'Try a part of its name, or a word of what it is for.',
} as const

declare module './index.ts' {
  interface AreaTexts {
    readonly settings: typeof settingsEn
  }
}
