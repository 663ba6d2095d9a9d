import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-rows.ts'
import { navigate } from '../../app/router.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { FileField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Loaded, Notice } from '../../ui/notice.tsx'
import { Card, Said } from '../../ui/parts.tsx'
import { HealthLamp, type PluginRecord, StateLamp } from './plugin-state.tsx'

/** All plugins, those that need somebody first, and a way to install one. */
export function Page() {
  const plugins = usePages('/v1/plugins', {}, ['plugin.*', 'health.*'])
  return (
    <>
      <h1>{t('plugins.title')}</h1>
      <Install onInstalled={plugins.reload} />
      <Loaded query={plugins}>
        {(rows) => (
          <>
            {rows
              .filter(({ error, state }) => error !== null && state !== 'disabled')
              .map((one) => (
                <Notice
                  key={one.name}
                  tone={one.state === 'running' || one.state === 'needs_config' ? 'warn' : 'bad'}
                >
                  <p>
                    <a href={`/plugins/${one.name}`}>{one.name}</a> <StateLamp plugin={one} />
                  </p>
                  <p>
                    <Said>{one.error}</Said>
                  </p>
                </Notice>
              ))}
            <DataTable
              label={t('plugins.title')}
              rows={rows}
              columns={columns()}
              keyOf={({ name }) => name}
              onOpen={({ name }) => navigate(`/plugins/${name}`)}
              footer={plugins.isMore ? <Button onClick={plugins.more}>{t('ui.more')}</Button> : null}
            />
          </>
        )}
      </Loaded>
    </>
  )
}

/** It is unpacked, checked and started before the answer. */
const LONGEST_MS = 300_000

function Install({ onInstalled }: { readonly onInstalled: () => void }) {
  const [file, setFile] = useState<File>()
  const [done, setDone] = useState<PluginRecord>()
  const install = async () => {
    setDone(undefined)
    const body = { type: 'application/gzip', content: file ?? '' } as const
    const result = await api.post('/v1/plugins', { body, timeoutMs: LONGEST_MS })
    onInstalled()
    return result
  }
  return (
    <Card title={t('plugins.install')}>
      <p>{t('plugins.install.what')}</p>
      <Form
        submit={t('plugins.install')}
        icon="plus"
        kind="primary"
        isDisabled={file === undefined}
        act={install}
        onDone={setDone}
        beside={<a href="/docs/how-to/plugins.html">{t('plugins.docs')}</a>}
      >
        <FileField text="plugins.file" accept=".tgz,.gz" onChoose={setFile} />
        {done === undefined ? null : (
          <Notice tone={done.state === 'running' ? 'ok' : 'warn'}>
            <p>
              {t('plugins.installed', { name: done.name, version: done.version })} <StateLamp plugin={done} />
            </p>
            {done.error === null ? null : (
              <p>
                <Said>{done.error}</Said>
              </p>
            )}
          </Notice>
        )}
      </Form>
    </Card>
  )
}

function columns(): readonly Column<PluginRecord>[] {
  return [
    {
      text: 'plugins.name',
      cell: ({ name }) => <a href={`/plugins/${name}`}>{name}</a>,
      of: 'name',
      isSortable: true,
    },
    { text: 'plugins.state', cell: (plugin) => <StateLamp plugin={plugin} />, of: 'state', isSortable: true },
    {
      text: 'plugins.health',
      cell: (plugin) => (plugin.state === 'running' ? <HealthLamp plugin={plugin} /> : '–'),
    },
    { text: 'plugins.version', of: 'version' },
    {
      text: 'plugins.kind',
      cell: ({ kind }) => (kind === null ? '' : word('plugins.kind', kind)),
      isWide: true,
    },
    { text: 'plugins.signedBy', cell: ({ signed_by }) => signed_by ?? '', isWide: true },
  ]
}
