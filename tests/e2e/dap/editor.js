// SPDX-License-Identifier: Apache-2.0
// editor.js REPRISE TRACE SOURCE LINE: the client that Microsoft tests debug adapters with, which speaks as VS Code does.
// It looks at ranks alone: a breakpoint in all of them, values, steps, and back to where they were.
'use strict';
const assert = require('assert');
const { DebugClient } = require('@vscode/debugadapter-testsupport');

const [reprise, trace, source, lineText] = process.argv.slice(2);
const line = Number(lineText);

async function main() {
	const client = new DebugClient(reprise, 'dap', 'reprise', undefined, true);
	client.defaultTimeout = 60000;
	let printed = '';
	client.on('output', (event) => { printed += event.body.output; });

	// One promise for each stop, made before what leads to it is asked for.
	const stopped = (reason) => client.waitForEvent('stopped').then((event) => {
		assert.strictEqual(event.body.reason, reason);
		return event.body;
	});
	const top = async (threadId) => (await client.stackTraceRequest({ threadId })).body.stackFrames[0];
	const value = async (threadId, expression) =>
		(await client.evaluateRequest({ expression, frameId: (await top(threadId)).id })).body.result;

	await client.start();
	const begun = client.waitForEvent('initialized');
	const capabilities = (await client.initializeRequest({
		adapterID: 'reprise', clientID: 'vscode', linesStartAt1: true, columnsStartAt1: true, pathFormat: 'path',
	})).body;
	assert(capabilities.supportsStepBack && capabilities.supportsConfigurationDoneRequest);
	const entry = stopped('entry');
	await Promise.all([
		client.launchRequest({ trace, at: 'start' }),
		begun.then(async () => {
			const set = await client.setBreakpointsRequest({ source: { path: source }, breakpoints: [{ line }] });
			assert(set.body.breakpoints[0].verified);
			await client.configurationDoneRequest();
		}),
	]);
	await entry;
	assert.deepStrictEqual((await client.threadsRequest()).body.threads.map((t) => t.name), ['rank 0', 'rank 1', 'rank 2']);

	for (const round of ['0', '1', '2']) {
		const hit = client.assertStoppedLocation('breakpoint', { path: source, line });
		await client.continueRequest({ threadId: 1 });
		await hit;
		for (const threadId of [1, 2, 3])
			assert.strictEqual(await value(threadId, 'round_'), round);
	}

	// A step and the step back lead to the same line and value.
	const before = await value(1, 'u[7]');
	let stop = stopped('step');
	await client.nextRequest({ threadId: 1 });
	await stop;
	assert.notStrictEqual((await top(1)).line, line);
	stop = stopped('breakpoint'); // there is one
	await client.stepBackRequest({ threadId: 1 });
	await stop;
	assert.strictEqual((await top(1)).line, line);
	assert.strictEqual(await value(1, 'u[7]'), before);

	for (const round of ['1', '0']) {
		const hit = client.assertStoppedLocation('breakpoint', { path: source, line });
		await client.reverseContinueRequest({ threadId: 1 });
		await hit;
		assert.strictEqual(await value(2, 'round_'), round);
	}

	const { scopes } = (await client.scopesRequest({ frameId: (await top(3)).id })).body;
	const { variables } = (await client.variablesRequest({ variablesReference: scopes[0].variablesReference })).body;
	assert(variables.some((v) => v.name === 'argc'));

	await client.setBreakpointsRequest({ source: { path: source }, breakpoints: [] });
	const end = client.waitForEvent('stopped');
	await client.continueRequest({ threadId: 1 });
	assert.match((await end).body.text, /recorded end/);
	for (const rank of [0, 1, 2])
		assert(printed.includes(`rank ${rank}: `), printed);
	const ended = client.waitForEvent('terminated');
	await client.disconnectRequest({});
	await ended;
	console.log('the editor has seen it all');
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});
